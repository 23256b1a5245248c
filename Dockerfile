# mcp-reflect as an image: it serves over stdio, as one user without rights, and keeps its bank in a volume.
# With EXTRAS=[postgres,team] it is a replica of a team's service: see compose.yaml.
#   docker build -t mcp-reflect .
#   docker run -i --rm -v mcp-reflect:/bank -e MCP_REFLECT_PROJECT=shop mcp-reflect
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY prompts prompts
COPY mcp_reflect mcp_reflect
ARG EXTRAS=
RUN python -m venv /app && /app/bin/pip install --no-cache-dir ".$EXTRAS" && /app/bin/pip uninstall -y pip

FROM python:3.12-slim
COPY --from=build /app /app
RUN useradd --system --uid 10001 --no-create-home reflect && install -d -o reflect -m 0700 /bank
ENV PATH=/app/bin:$PATH MCP_REFLECT_BANK=/bank/bank.db PYTHONUNBUFFERED=1
# A directory that is nobody's project: lessons are for all, unless MCP_REFLECT_PROJECT names one.
LABEL io.modelcontextprotocol.server.name="io.github.mcp-reflect/mcp-reflect"
WORKDIR /
USER reflect
VOLUME /bank
ENTRYPOINT ["mcp-reflect"]
