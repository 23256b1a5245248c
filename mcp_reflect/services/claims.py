"""A folder that says by its origin alone which project it is: a person is told so before lessons of that are shown."""

from mcp_reflect.services.engine import Engine


async def accept_claim(engine: Engine) -> str:
    """Work on in the project that the folder's origin names; return the line that a person has to be told.

    Nothing is done, and the line is empty, where the folder is known or its first commit says the same.
    """
    claimed, folder = engine.scopes.claimed, engine.scopes.folder
    if not claimed or folder is None:
        return ""
    engine.use(await engine.bank.projects.accept_claim(engine.scopes))
    return (
        f"mcp-reflect: by its origin, {folder.path} is {claimed}; lessons of that project are used here from now on. "
        "If it is another project, set MCP_REFLECT_PROJECT to a name."
    )
