# The packages that the service needs when it runs, and no others. No package has to run a script of its own:
# bcrypt contains its binary.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --workspaces=false --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY clients/typescript/package.json clients/typescript/
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY migrations ./migrations
COPY src ./src
COPY clients ./clients
COPY docs ./docs
COPY connectors/vendure/README.md connectors/vendure/
COPY back-office ./back-office
COPY tools ./tools
RUN npm run build

FROM node:24-bookworm-slim
WORKDIR /app
# The service must be reachable from outside the container.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
# Passwords and the host names of webhooks share these threads: a name server that does not answer must not delay logins.
ENV UV_THREADPOOL_SIZE=64
# All of it belongs to root, and the service runs as another user: it cannot change its own code. It writes no files,
# so the root file system may be read-only.
COPY package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/ready`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# The command of `npm run start:prod`, without a shell in between, so that SIGTERM reaches the service and the service
# finishes the requests in progress. It sets no heap size: V8 derives one from the memory limit of the container.
CMD ["node", "dist/src/main.js"]
