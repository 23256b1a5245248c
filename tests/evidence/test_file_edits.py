"""The edits of a patch, file by file."""

from mcp_reflect.evidence.file_edits import FileEdit, edits_in

PATCH = """*** Begin Patch
*** Update File: tests/test_cart.py
*** Move to: tests/test_basket.py
@@ def test_total
-    assert total == 3
+    pass
*** End of File
*** Add File: a.txt
+one
*** Delete File: b.txt
*** End Patch"""


def test_a_file_that_is_moved_keeps_its_edits() -> None:
    assert edits_in({"input": PATCH}) == [
        FileEdit("tests/test_cart.py", "    assert total == 3", "    pass"),
        FileEdit("a.txt", None, "one"),
        FileEdit("b.txt", None, None),
    ]


TWO_HUNKS = """*** Begin Patch
*** Update File: cart.py
@@ def total
 def total():
-    return 1

     # the end
@@
-old
+new
*** End Patch"""


def test_hunks_of_one_file_are_edits_of_their_own_and_keep_their_blank_lines() -> None:
    assert edits_in({"input": TWO_HUNKS}) == [
        FileEdit(
            "cart.py",
            "def total():\n    return 1\n\n    # the end",
            "def total():\n\n    # the end",
        ),
        FileEdit("cart.py", "old", "new"),
    ]
