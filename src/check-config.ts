import 'reflect-metadata';
import { loadProcessConfig } from './config/config.js';

/** Lists each missing or invalid variable and exits with code 1, without starting anything. */
try {
  loadProcessConfig();
} catch (error) {
  console.error(error instanceof Error && error.name === 'ConfigError' ? error.message : error);
  process.exitCode = 1;
}
