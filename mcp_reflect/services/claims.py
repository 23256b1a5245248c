"""The lines that tell a person of a folder's project where that follows from the origin of its repository.

A file in the folder (`.git/config`) names the origin, and whoever wrote the file may have named another's project.
"""

from mcp_reflect.services.engine import Engine


async def accept_claim(engine: Engine) -> str:
    """Work on in the project that the folder's origin names; return the line that a person has to be told.

    Nothing is done, and the line is empty, where the folder is known or its first commit says the same.
    """
    claimed_project = engine.scopes.claimed
    folder = engine.scopes.folder
    if not claimed_project or folder is None:
        return ""
    engine.use(await engine.bank.projects.accept_claim(engine.scopes))
    return (
        f"mcp-reflect: by its origin, {folder.path} is {claimed_project}; lessons of that project are used here from now on. "
        "If it is another project, set MCP_REFLECT_PROJECT to a name."
    )


async def tell_new_origin(engine: Engine) -> str:
    """Return the line that tells a person, once, that a folder stays part of its project though its origin changed.

    Empty where the origin is as it was, or the person was told.
    """
    origin = engine.scopes.new_origin
    folder = engine.scopes.folder
    project = engine.scopes.own.project
    if not origin or folder is None:
        return ""
    engine.use(await engine.bank.projects.note_told(engine.scopes))
    return (
        f"mcp-reflect: the origin of {folder.path} is {origin} now. Its lessons and guards stay those of {project}. If that "
        f"has a new name: mcp-reflect projects rename {project} {origin}. If the folder is another project, set "
        "MCP_REFLECT_PROJECT to a name."
    )
