// @ts-check
/**
 * Writes the OpenAPI documents of the build, that of a live service and that of a sandbox, which has more operations, to
 * dist/openapi.json and dist/openapi-sandbox.json. The application is only described, not started: no database is needed.
 */
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

process.exit();
