"""Small tables to try Understudy with, in the folder you are in.

All are cut from the breast-cancer table that comes with scikit-learn. For the example, public.csv stands for rows that
are public already; yours come from somewhere else than the sensitive table. schema.yaml says what is public about the
columns: bounds from medical knowledge, not from the rows.
"""

from understudy import datasets

table = datasets.load("breast-cancer")
rows = table.frame.sample(frac=1, random_state=0)
rows[:350].to_csv("patients.csv", index=False)
rows[350:500].drop(columns=table.target).to_csv("public.csv", index=False)
rows[500:].drop(columns=table.target).to_csv("new.csv", index=False)
rows[500:].to_csv("test.csv", index=False)
table.schema.write("schema.yaml")
print(
    "wrote patients.csv (350 rows, target: diagnosis), public.csv (150), new.csv (69), test.csv (new.csv with its labels) and schema.yaml"
)
