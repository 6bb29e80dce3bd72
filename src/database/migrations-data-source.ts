import { existsSync } from 'node:fs';
import { createDataSource } from './data-source.js';

/** What the `typeorm` command line loads: all that migrations need is DATABASE_URL. */
if (existsSync('.env')) process.loadEnvFile('.env');
const url = process.env.DATABASE_URL;
if (!url) throw new Error('DATABASE_URL is missing: it must be a URL such as mysql://user:password@host:3306/cashback');

export default createDataSource(url);
