// @ts-check
/**
 * Writes the OpenAPI documents of the build, that of a live service, that of a sandbox and that of the command line,
 * which have more operations, to dist/openapi.json, dist/openapi-sandbox.json and dist/openapi-operator.json, and lints the
 * first two if `--lint` is given. The application is only described, not started: no database is needed.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';

const LIVE = 'dist/openapi.json';
const OF_SANDBOX = 'dist/openapi-sandbox.json';
const OF_OPERATOR = 'dist/openapi-operator.json';

// The build is not there when this file is checked, so its modules are named at run time.
const { AppModule } = await import(new URL('../dist/src/app.module.js', import.meta.url).href);
const { loadConfig } = await import(new URL('../dist/src/platform/config/config.js', import.meta.url).href);
const { openApiDocument } = await import(new URL('../dist/src/platform/openapi/document.js', import.meta.url).href);

const { OperatorModule } = await import(new URL('../dist/src/operations/operator.module.js', import.meta.url).href);

for (const file of [LIVE, OF_SANDBOX, OF_OPERATOR]) {
  const config = loadConfig({
    NODE_ENV: 'test',
    DATABASE_URL: 'mysql://nobody@localhost/nothing',
    PUBLIC_URL: 'https://cashback.invalid',
    JWT_SECRET: 'no-token-is-signed-with-this-secret',
    SANDBOX: String(file === OF_SANDBOX),
  });
  const imports = [AppModule.with(config), ...(file === OF_OPERATOR ? [OperatorModule] : [])];
  const app = await NestFactory.create(
    { module: class {}, imports },
    {
      preview: true,
      logger: false,
      abortOnError: false,
    },
  );
  writeFileSync(file, JSON.stringify(openApiDocument(app), null, 2));
}

/** @type {[program: string, ...args: string[]][]} */
const LINTERS = [
  ['redocly', 'lint', LIVE, OF_SANDBOX],
  ['spectral', 'lint', '--ruleset', '.spectral.yaml', '--fail-severity', 'hint', LIVE, OF_SANDBOX],
];
// They would report their use and look for newer versions of themselves.
const env = {
  ...process.env,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  SCARF_ANALYTICS: 'false',
};
for (const [program, ...args] of process.argv.includes('--lint') ? LINTERS : []) {
  const { status } = spawnSync(`node_modules/.bin/${program}`, args, { stdio: 'inherit', env });
  if (status !== 0) process.exit(status ?? 1);
}
process.exit();
