"""The *roots* of a lesson: the files, lines and versions of packages of a repository that it was true of.

They are read from the files: without git, bounded, and through no link. Where they are gone, the lesson is doubted.
"""
