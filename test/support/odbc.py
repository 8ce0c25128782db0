"""Runs SQL through ODBC, as 1C does: {"connect": "…", "steps": [{"sql": "…", "values": ["…"]}]} on standard input.

Gives a list of {"rows": [...]} or {"error": "…"} as JSON. Python's own ctypes on unixODBC; texts travel as UTF-16, as 1C's do.
"""

import ctypes
import ctypes.util
import json
import sys

odbc = ctypes.CDLL(ctypes.util.find_library("odbc"))
HANDLE, SHORT, VOID = ctypes.c_void_p, ctypes.c_short, ctypes.c_void_p
odbc.SQLAllocHandle.argtypes = [SHORT, HANDLE, ctypes.POINTER(HANDLE)]
odbc.SQLFreeHandle.argtypes = [SHORT, HANDLE]
odbc.SQLSetEnvAttr.argtypes = [HANDLE, ctypes.c_int, VOID, ctypes.c_int]
odbc.SQLDriverConnectW.argtypes = [HANDLE, VOID, VOID, SHORT, VOID, SHORT, VOID, ctypes.c_ushort]
odbc.SQLDisconnect.argtypes = [HANDLE]
odbc.SQLPrepareW.argtypes = [HANDLE, VOID, ctypes.c_int]
odbc.SQLExecDirectW.argtypes = [HANDLE, VOID, ctypes.c_int]
odbc.SQLExecute.argtypes = [HANDLE]
odbc.SQLBindParameter.argtypes = [
    HANDLE, ctypes.c_ushort, SHORT, SHORT, SHORT, ctypes.c_size_t, SHORT, VOID, ctypes.c_ssize_t, VOID]
odbc.SQLNumResultCols.argtypes = [HANDLE, ctypes.POINTER(SHORT)]
odbc.SQLFetch.argtypes = [HANDLE]
odbc.SQLGetData.argtypes = [HANDLE, ctypes.c_ushort, SHORT, VOID, ctypes.c_ssize_t, ctypes.POINTER(ctypes.c_ssize_t)]
odbc.SQLGetDiagRecW.argtypes = [SHORT, HANDLE, SHORT, VOID, VOID, VOID, SHORT, VOID]

ENV, CONNECTION, STATEMENT = 1, 2, 3
WCHAR, WVARCHAR, NO_DATA = -8, -9, 100


def wide(text):
    return ctypes.create_string_buffer(text.encode("utf-16-le") + b"\0\0")


def alloc(kind, parent):
    handle = HANDLE()
    if odbc.SQLAllocHandle(kind, parent, ctypes.byref(handle)) not in (0, 1):
        raise RuntimeError("no handle")
    return handle


def check(result, kind, handle):
    if result in (0, 1, NO_DATA):
        return result
    text, length = ctypes.create_string_buffer(2000), SHORT()
    odbc.SQLGetDiagRecW(kind, handle, 1, ctypes.create_string_buffer(12), ctypes.byref(ctypes.c_int()), text, 900, ctypes.byref(length))
    raise RuntimeError(text.raw[: length.value * 2].decode("utf-16-le"))


def value_of(statement, column):
    parts, size, left = [], 8192, ctypes.c_ssize_t()
    while True:
        buffer = ctypes.create_string_buffer(size)
        result = check(odbc.SQLGetData(statement, column, WCHAR, buffer, size, ctypes.byref(left)), STATEMENT, statement)
        if left.value == -1:
            return None
        if result == NO_DATA:
            break
        more = left.value == -4 or left.value >= size
        parts.append(buffer.raw[: size - 2 if more else left.value])
        if result == 0:
            break
    return b"".join(parts).decode("utf-16-le")


def run(connection, sql, values):
    statement = alloc(STATEMENT, connection)
    try:
        text, kept = wide(sql), []
        if values:
            check(odbc.SQLPrepareW(statement, text, -3), STATEMENT, statement)
            for number, value in enumerate(values, 1):
                buffer = wide(value)
                length = ctypes.c_ssize_t(len(buffer) - 2)
                kept.append((buffer, length))
                size = max(len(value), 1)
                bound = odbc.SQLBindParameter(
                    statement, number, 1, WCHAR, WVARCHAR, size, 0, buffer, len(buffer), ctypes.byref(length))
                check(bound, STATEMENT, statement)
            check(odbc.SQLExecute(statement), STATEMENT, statement)
        else:
            check(odbc.SQLExecDirectW(statement, text, -3), STATEMENT, statement)
        columns = SHORT()
        check(odbc.SQLNumResultCols(statement, ctypes.byref(columns)), STATEMENT, statement)
        rows = []
        while columns.value > 0 and check(odbc.SQLFetch(statement), STATEMENT, statement) != NO_DATA:
            rows.append([value_of(statement, column) for column in range(1, columns.value + 1)])
        return {"rows": rows}
    except RuntimeError as error:
        return {"error": str(error)}
    finally:
        odbc.SQLFreeHandle(STATEMENT, statement)


def main():
    task = json.load(sys.stdin)
    environment = alloc(ENV, None)
    odbc.SQLSetEnvAttr(environment, 200, VOID(3), 0)
    connection = alloc(CONNECTION, environment)
    try:
        check(odbc.SQLDriverConnectW(connection, None, wide(task["connect"]), -3, None, 0, None, 0), CONNECTION, connection)
    except RuntimeError as error:
        print(json.dumps([{"error": str(error)}]))
        return
    print(json.dumps([run(connection, step["sql"], step.get("values", [])) for step in task["steps"]]))
    odbc.SQLDisconnect(connection)


main()
