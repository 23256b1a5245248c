"""What a lesson was true of, read from the files of a repository: without git, bounded, and through no link."""
