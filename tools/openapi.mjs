// @ts-check
/**
 * Writes the OpenAPI document of the build to dist/openapi.json and lints it. The application is only
 * described, not started: no database is needed.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';

const FILE = 'dist/openapi.json';

// The build is not there when this file is checked, so its modules are named at run time.
const { AppModule } = await import(new URL('../dist/src/app.module.js', import.meta.url).href);
const { loadConfig } = await import(new URL('../dist/src/config/config.js', import.meta.url).href);
const { openApiDocument } = await import(new URL('../dist/src/http/documentation.js', import.meta.url).href);

const config = loadConfig({
  NODE_ENV: 'test',
  DATABASE_URL: 'mysql://nobody@localhost/nothing',
  PUBLIC_URL: 'https://cashback.invalid',
  JWT_SECRET: 'no-token-is-signed-with-this-secret',
});
const app = await NestFactory.create(AppModule.with(config), { preview: true, logger: false });
writeFileSync(FILE, JSON.stringify(openApiDocument(app), null, 2));

const { status } = spawnSync('node_modules/.bin/redocly', ['lint', FILE], {
  stdio: 'inherit',
  // It would report its use and look for a newer version of itself.
  env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
});
process.exit(status ?? 1);
