import { readEnvFile } from './config/env-file.js';
import { startTracing } from './tracing/tracing.js';

async function run(): Promise<void> {
  readEnvFile();
  await startTracing(process.env);
  // Only now: what is to be traced must not have been loaded before.
  const { start } = await import('./start.js');
  await start();
}

run().catch((error: unknown) => {
  // A bad configuration has a message for people, and no stack that would tell them more.
  console.error(error instanceof Error && error.name === 'ConfigError' ? error.message : error);
  process.exit(1);
});
