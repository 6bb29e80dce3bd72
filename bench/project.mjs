// @ts-check
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The project's folder, wherever the command was typed. */
export const PROJECT = path.resolve(import.meta.dirname, '..');

/** Connections to the database of each server that is compared: the service's default. */
export const POOL_SIZE = 10;

/** The command that starts the build as in production: that of `npm run start:prod`. @type {string[]} */
export const PRODUCTION_COMMAND = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8')).scripts[
  'start:prod'
].split(' ');
