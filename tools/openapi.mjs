// @ts-check
/**
 * Writes the OpenAPI documents of the build, that of a live service, that of a sandbox and that of the command line,
 * which have more operations, to dist/openapi.json, dist/openapi-sandbox.json and dist/openapi-operator.json. The
 * application is only described, not started: no database is needed.
 */
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

process.exit();
