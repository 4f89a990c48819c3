"""Three small tables to try Understudy with: patients.csv, public.csv and new.csv, in the folder you are in.

All are cut from the breast-cancer table that comes with scikit-learn. For the example, public.csv stands for rows that
are public already; yours come from somewhere else than the sensitive table.
"""

from understudy import datasets

table = datasets.load("breast-cancer")
rows = table.frame.sample(frac=1, random_state=0)
rows[:350].to_csv("patients.csv", index=False)
rows[350:500].drop(columns=table.target).to_csv("public.csv", index=False)
rows[500:].drop(columns=table.target).to_csv("new.csv", index=False)
print("wrote patients.csv (350 rows, target: diagnosis), public.csv (150) and new.csv (69)")
