import { existsSync } from 'node:fs';

/** Reads `.env` if it exists. Variables that are already set keep their values. */
export function readEnvFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env');
}
