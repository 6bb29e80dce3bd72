// @ts-check
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The project's folder, wherever the command was typed. */
export const PROJECT = path.resolve(import.meta.dirname, '..');

/** Connections to the database of each server that is compared: the service's default. */
export const POOL_SIZE = 10;

/** What Node is given to start the build as in production, its own options too: by `npm run start:prod`. @type {string[]} */
export const PRODUCTION_ARGS = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8')).scripts['start:prod'].split(' ').slice(1);
