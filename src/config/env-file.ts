import { existsSync } from 'node:fs';

/** Completes the environment by a `.env` file where there is one; what is set already stays. */
export function readEnvFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env');
}
