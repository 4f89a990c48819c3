"""A ledger in PostgreSQL: for an office with many people, where the database says who may do what.

Everything is in one schema of the database. Its owner makes it and lets others in (`grant`): a *reader* may look, a
*spender* may also reserve and settle their own runs, a *steward* may also set limits, answer requests and settle what
others have lost. Row-level security and triggers hold that against SQL written by hand as well; who writes is who the
server says it is.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from understudy.errors import InputError
from understudy.privacy.ledger_entries import ACTIONS, ANSWERS, FIRST, Damage, HistoryLine, check_text
from understudy.privacy.ledger_store import Head, Lease, check_chain, check_lines

if TYPE_CHECKING:
    import psycopg

VERSION = 2
ROLES = ("reader", "spender", "steward")
_RUNS = ("reserve", "draw", "resume", "pause", "commit", "release", "lose", "request")


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


_SCHEMA = f"""
CREATE SCHEMA understudy;
CREATE TABLE understudy.about (version integer NOT NULL);
INSERT INTO understudy.about VALUES ({VERSION});
-- Locked by whoever writes, before anything is read: writers take turns.
CREATE TABLE understudy.turn (one integer);
CREATE TABLE understudy.people (name text PRIMARY KEY, role text NOT NULL CHECK (role IN ({_quoted(ROLES)})));
CREATE TABLE understudy.history (
    id bigint PRIMARY KEY,
    at text NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    "user" text NOT NULL,
    action text NOT NULL CHECK (action IN ({_quoted(ACTIONS)})),
    dataset text NOT NULL,
    reservation bigint REFERENCES understudy.history (id),
    epsilon text NOT NULL,
    delta text NOT NULL,
    note text NOT NULL,
    certificate text,
    detail text NOT NULL,
    hash text NOT NULL,
    CHECK ((reservation IS NULL) = (action IN ({_quoted(FIRST)})))
);
CREATE INDEX history_by_dataset ON understudy.history (dataset, id);
CREATE INDEX history_by_reservation ON understudy.history (reservation);
CREATE TABLE understudy.head (one integer PRIMARY KEY CHECK (one = 1), id bigint NOT NULL, hash text NOT NULL);
INSERT INTO understudy.head VALUES (1, 0, '');
CREATE TABLE understudy.leases (
    run bigint PRIMARY KEY REFERENCES understudy.history (id),
    "user" text NOT NULL,
    place text NOT NULL,
    pid bigint NOT NULL,
    began text NOT NULL,
    expires double precision NOT NULL
);

CREATE FUNCTION understudy.is_steward() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = understudy, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM people WHERE name = session_user AND role = 'steward')
        OR session_user = (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'understudy')
$$;

CREATE FUNCTION understudy.grows() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = understudy, pg_temp AS $$
DECLARE first history;
BEGIN
    IF NEW.id IS DISTINCT FROM (SELECT id + 1 FROM head) OR NEW."user" <> session_user
        OR EXISTS (SELECT 1 FROM history WHERE reservation = NEW.reservation
                   AND action IN ('commit', 'release', 'settle', {_quoted(ANSWERS)}))
        OR (NEW.action = 'add' AND EXISTS (SELECT 1 FROM history WHERE dataset = NEW.dataset)) THEN
        RAISE EXCEPTION 'the history of a ledger only grows';
    END IF;
    IF NEW.reservation IS NOT NULL THEN
        SELECT * INTO first FROM history WHERE id = NEW.reservation;
        IF NEW.action IN ('draw', 'resume', 'pause', 'commit') AND first."user" <> session_user THEN
            RAISE EXCEPTION 'run % belongs to %', first.id, first."user";
        END IF;
        IF NEW.action = 'release' AND EXISTS (SELECT 1 FROM history WHERE reservation = NEW.reservation) THEN
            RAISE EXCEPTION 'run % has begun to draw', first.id;
        END IF;
        IF NEW.action IN ({_quoted(ANSWERS)}) AND first."user" = session_user THEN
            RAISE EXCEPTION 'request % is your own', first.id;
        END IF;
    END IF;
    UPDATE head SET id = NEW.id, hash = NEW.hash;
    RETURN NEW;
END $$;
CREATE TRIGGER history_only_grows BEFORE INSERT ON understudy.history
    FOR EACH ROW EXECUTE FUNCTION understudy.grows();

CREATE FUNCTION understudy.stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the history of a ledger is never rewritten'; END $$;
CREATE TRIGGER history_is_not_rewritten BEFORE UPDATE OR DELETE OR TRUNCATE ON understudy.history
    FOR EACH STATEMENT EXECUTE FUNCTION understudy.stays();

ALTER TABLE understudy.history ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody_reads ON understudy.history FOR SELECT USING (true);
CREATE POLICY runs_are_spent ON understudy.history FOR INSERT WITH CHECK (action IN ({_quoted(_RUNS)}));
CREATE POLICY limits_are_set ON understudy.history FOR INSERT WITH CHECK (understudy.is_steward());
ALTER TABLE understudy.leases ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody_reads ON understudy.leases FOR SELECT USING (true);
CREATE POLICY own_lease ON understudy.leases FOR ALL
    USING ("user" = session_user OR understudy.is_steward() OR expires < extract(epoch FROM clock_timestamp()))
    WITH CHECK ("user" = session_user);
"""
_SELECT = (
    'SELECT h.id, h.at, h.host, h.pid, h."user", h.action, h.dataset, h.reservation, h.epsilon, h.delta, h.note, '
    "h.certificate, h.detail, coalesce(p.hash, ''), h.hash "
    "FROM understudy.history h LEFT JOIN understudy.history p ON p.id = h.id - 1"
)


@dataclass(frozen=True)
class DatabaseBook:
    """The ledger in a database within one transaction."""

    connection: psycopg.Connection[Any]

    def _rows(self, query: str, *values: object) -> list[Any]:
        return self.connection.execute(cast(Any, query), values).fetchall()

    def now(self) -> float:
        return float(self._rows("SELECT extract(epoch FROM clock_timestamp())")[0][0])

    def user(self) -> str:
        return str(self._rows("SELECT session_user")[0][0])

    def head(self) -> Head:
        rows = self._rows("SELECT id, hash FROM understudy.head")
        if not rows:
            raise Damage("it has lost the head of its history")
        return Head(*rows[0])

    def names(self) -> list[str]:
        return [row[0] for row in self._rows("SELECT dataset FROM understudy.history WHERE action = 'add' ORDER BY id")]

    def lines(self, dataset: str | None = None) -> list[HistoryLine]:
        if dataset is None:
            found = [HistoryLine(*row) for row in self._rows(f"{_SELECT} ORDER BY h.id")]
            check_chain(found, self.head())
            return found
        found = [HistoryLine(*row) for row in self._rows(f"{_SELECT} WHERE h.dataset = %s ORDER BY h.id", dataset)]
        check_lines(found)
        return found

    def insert(self, line: HistoryLine) -> None:
        places = ", ".join(["%s"] * 14)
        self.connection.execute(cast(Any, f"INSERT INTO understudy.history VALUES ({places})"), (*line[:-2], line.hash))

    def lease(self, run: int) -> Lease | None:
        rows = self._rows("SELECT * FROM understudy.leases WHERE run = %s", run)
        return Lease(*rows[0]) if rows else None

    def keep(self, lease: Lease) -> None:
        self.drop(lease.run)
        values = (lease.run, lease.user, lease.place, lease.pid, lease.began, lease.expires)
        self.connection.execute("INSERT INTO understudy.leases VALUES (%s, %s, %s, %s, %s, %s)", values)

    def drop(self, run: int) -> None:
        self.connection.execute("DELETE FROM understudy.leases WHERE run = %s", (run,))


@dataclass(frozen=True)
class LedgerDatabase:
    """The database: transactions, and the server's errors in words for people."""

    url: str = field(repr=False)
    timeout: float

    @property
    def address(self) -> str:
        """Without a password, wherever in the address it stands."""
        bare = re.sub(r"//([^/@:]*):[^/@]*@", r"//\1@", self.url)
        return re.sub(r"([?&])password=[^&]*&?", r"\1", bare).rstrip("?&")

    def create(self) -> bool:
        """Make the schema; False when it is already there."""
        import psycopg

        with self._errors(), self._connection() as connection:
            if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'understudy'").fetchone():
                return False
            try:
                connection.execute(cast(Any, _SCHEMA))
                connection.commit()
            except (psycopg.errors.DuplicateSchema, psycopg.errors.UniqueViolation):
                return False
        return True

    def open(self) -> None:
        """Refuse a database without a ledger, or with a damaged one."""
        with self.transaction("read") as book:
            book.lines()

    def grant(self, user: str, role: str) -> None:
        """Let a user of the database in, in a role; only the owner of the schema may. It takes the place of the one before."""
        from psycopg import sql

        check_text(user, "grant: user")
        if role not in ROLES:
            raise InputError(f"grant: role (={role!r}) must be one of {', '.join(ROLES)}.")
        name = sql.Identifier(user)
        with self.transaction("write") as book:
            run = book.connection.execute
            run(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA understudy FROM {}").format(name))
            run(sql.SQL("GRANT USAGE ON SCHEMA understudy TO {}").format(name))
            run(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA understudy TO {}").format(name))
            if role != "reader":
                run(sql.SQL("GRANT UPDATE ON understudy.turn TO {}").format(name))
                run(sql.SQL("GRANT INSERT ON understudy.history TO {}").format(name))
                run(sql.SQL("GRANT INSERT, DELETE ON understudy.leases TO {}").format(name))
            run(
                "INSERT INTO understudy.people VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET role = excluded.role",
                (user, role),
            )

    @contextmanager
    def transaction(self, kind: Literal["read", "write"]) -> Generator[DatabaseBook]:
        """One serialisable transaction on its own connection: kept when the block ends well, undone otherwise."""
        with self._errors(), self._connection() as connection:
            if kind == "write":
                # Before the first look at anything: a serialisable transaction sees what was there when it first looked.
                connection.execute("LOCK TABLE understudy.turn IN EXCLUSIVE MODE")
            version = connection.execute("SELECT version FROM understudy.about").fetchone()
            if version is None or version[0] != VERSION:
                raise InputError(
                    f"The ledger {self.address} has version {version and version[0]}; this Understudy knows {VERSION}. Nothing "
                    f"was written. Upgrade Understudy to use it."
                )
            yield DatabaseBook(connection)
            connection.commit()

    @contextmanager
    def _connection(self) -> Generator[psycopg.Connection[Any]]:
        import psycopg

        milliseconds = max(1, round(self.timeout * 1000))
        options = (
            f"-c lock_timeout={milliseconds} -c statement_timeout={milliseconds + 60_000} -c synchronous_commit=on"
        )
        connection = psycopg.connect(self.url, connect_timeout=max(2, round(self.timeout)), options=options)
        try:
            connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
            yield connection
        finally:
            with suppress(psycopg.Error):
                connection.close()  # which undoes what was not committed

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            import psycopg
        except ImportError:
            raise InputError(
                f"The ledger {self.address} is in PostgreSQL, which needs another package: pip install "
                f"'understudy[postgres]'."
            ) from None
        try:
            yield
        except psycopg.Error as error:
            raise self._explain(error) from error
        except Damage as error:
            raise self._damaged(error) from error

    def _explain(self, error: psycopg.Error) -> InputError:
        from psycopg import errors

        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        said = said.replace(self.url, self.address)
        if isinstance(error, errors.UndefinedTable | errors.InvalidSchemaName):
            return InputError(
                f"There is no ledger at {self.address}. Correct the address, or make one with `understudy ledger init`."
            )
        if isinstance(error, errors.LockNotAvailable | errors.SerializationFailure | errors.DeadlockDetected):
            return InputError(
                f"The ledger {self.address} is locked by another process for more than {self.timeout:g} s. "
                f"Nothing was written. Wait and try again."
            )
        if isinstance(error, errors.InsufficientPrivilege):
            return InputError(
                f"The ledger {self.address} does not let you do this: {said}. Nothing was written. Ask its owner for the "
                f"role (`understudy ledger grant`)."
            )
        if isinstance(error, errors.RaiseException | errors.IntegrityError):
            return InputError(f"The ledger {self.address} refused: {said}. Nothing was written.")
        if isinstance(error, errors.DiskFull):
            return InputError(f"The server's disk refused to write the ledger {self.address}: {said}. Make room there.")
        return InputError(
            f"The ledger {self.address} cannot be reached: {said}. If this was a write, look with `understudy ledger show` "
            f"whether it was kept, then try again."
        )

    def _damaged(self, problem: Exception) -> InputError:
        return InputError(
            f"The ledger {self.address} is damaged: {problem}. Nothing was written. Bring back its latest "
            f"backup and reserve by hand what was spent since; until then treat its datasets as spent."
        )
