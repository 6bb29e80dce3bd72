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
  // The message of a configuration error is complete; its stack says nothing more.
  console.error(error instanceof Error && error.name === 'ConfigError' ? error.message : error);
  process.exit(1);
});
