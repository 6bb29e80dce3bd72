// @ts-check
import path from 'node:path';

/** The project's folder, wherever the command was typed. */
export const PROJECT = path.resolve(import.meta.dirname, '..');

/** Connections to the database of each server that is compared: the service's default. */
export const POOL_SIZE = 10;
