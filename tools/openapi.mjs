// @ts-check
/**
 * Writes the OpenAPI documents of the build, that of a live service and that of a sandbox, which has more operations, to
 * dist/openapi.json and dist/openapi-sandbox.json, and lints them if `--lint` is given. The application is only described,
 * not started: no database is needed.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';

const FILES = { 'dist/openapi.json': 'false', 'dist/openapi-sandbox.json': 'true' };

// The build is not there when this file is checked, so its modules are named at run time.
const { AppModule } = await import(new URL('../dist/src/app.module.js', import.meta.url).href);
const { loadConfig } = await import(new URL('../dist/src/platform/config/config.js', import.meta.url).href);
const { openApiDocument } = await import(new URL('../dist/src/platform/openapi/document.js', import.meta.url).href);

for (const [file, SANDBOX] of Object.entries(FILES)) {
  const config = loadConfig({
    NODE_ENV: 'test',
    DATABASE_URL: 'mysql://nobody@localhost/nothing',
    PUBLIC_URL: 'https://cashback.invalid',
    JWT_SECRET: 'no-token-is-signed-with-this-secret',
    SANDBOX,
  });
  const app = await NestFactory.create(AppModule.with(config), { preview: true, logger: false });
  writeFileSync(file, JSON.stringify(openApiDocument(app), null, 2));
}

/** @type {[program: string, ...args: string[]][]} */
const LINTERS = [
  ['redocly', 'lint', ...Object.keys(FILES)],
  ['spectral', 'lint', '--ruleset', '.spectral.yaml', '--fail-severity', 'hint', ...Object.keys(FILES)],
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
