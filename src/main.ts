import { readEnvFile } from './config/env-file.js';
import { startTracing } from './tracing/tracing.js';

async function run(): Promise<void> {
  readEnvFile();
  await startTracing(process.env);
  // Imported here: tracing has to patch modules before they load.
  const { start } = await import('./start.js');
  await start();
}

run().catch((error: unknown) => {
  // A configuration error's message is complete without the stack.
  console.error(error instanceof Error && error.name === 'ConfigError' ? error.message : error);
  process.exit(1);
});
