# Enough reading of C++ for tidy.py: text without comments and strings, and the functions' lengths.
# Not a parser: a brace after a parameter list, outside of functions, opens a function.
# SPDX-License-Identifier: Apache-2.0
import re

_TOKEN = re.compile(
    r"""//(?:[^\n\\]|\\.|\\\n)*            # line comment
    |/\*.*?\*/                             # block comment
    |(?:u8|[uUL])?R"(?P<d>[^(\s]{0,16})\(.*?\)(?P=d)"   # raw string
    |"(?:[^"\\\n]|\\.)*"                   # string
    |(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.[^'\n]*)'          # character, not a digit separator
    """, re.S | re.X)


def strip(text):
    """Comments become blanks, strings empty quotes; every line keeps its number."""

    def blank(match):
        token = match.group(0)
        lines = "\n" * token.count("\n")
        if token.startswith("/"):
            return " " + lines
        # Included paths are strings too, and are wanted.
        return '""' + lines

    return _TOKEN.sub(blank, text)


def _kind(statement, inside_scopes):
    """What the brace after `statement` opens: 'scope', 'function' or 'other'."""
    if not inside_scopes:
        return "other"
    text = re.sub(r"^\s*#.*$", "", statement, flags=re.M).strip()
    if re.search(r"\bnamespace\b[\w\s:]*$", text) or re.fullmatch(r'extern\s*""', text):
        return "scope"
    if "(" in text and not re.search(r"=\s*$", text):
        specifiers = r"\b(alignas|__attribute__|decltype|noexcept|requires)\s*\(.*?\)"
        heading = re.sub(specifiers, "", text)
        if re.search(r"\b(class|struct|union|enum)\s+\w+[^()]*$", heading):
            return "scope"
        return "function"
    if re.search(r"\b(class|struct|union)\b", text) and not re.search(r"=\s*$", text):
        return "scope"
    return "other"


def _name(statement):
    heads = re.findall(r"([~\w:]+|operator\s*\S+?)\s*\(", statement)
    words = [h for h in heads if h not in ("alignas", "noexcept", "decltype", "if", "requires")]
    if words and words[0] in ("TEST", "TEST_F", "TEST_P"):
        arguments = re.search(r"\(([^)]*)\)", statement)
        return ".".join(a.strip() for a in arguments.group(1).split(","))
    return words[0] if words else "(unnamed)"


def functions(code):
    """(name, lines from the heading to the closing brace) of each function in stripped code."""
    found = []
    stack = []  # kind, name, first line
    statement, line, first = "", 1, 1
    depth = 0
    for character in code:
        if character == "\n":
            line += 1
        if character in "([":
            depth += 1
        elif character in ")]":
            depth = max(0, depth - 1)
        if character == "{":
            kind = _kind(statement, all(k == "scope" for k, _, _, _ in stack))
            stack.append((kind, _name(statement) if kind == "function" else "", first, depth))
            statement, depth = "", 0
        elif character == "}":
            if stack:
                kind, name, start, depth = stack.pop()
                if kind == "function":
                    found.append((name, line - start + 1))
            statement = ""
        elif character == ";" and depth == 0:
            statement = ""
        else:
            if not statement.strip() and not character.isspace():
                statement, first = "", line
            statement += character
    return found
