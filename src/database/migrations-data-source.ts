import { existsSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { SCHEMA } from '../schema.js';
import { dataSourceOptions } from './data-source.js';

/** What the `typeorm` command line loads: all that migrations need is DATABASE_URL. */
if (existsSync('.env')) process.loadEnvFile('.env');
const url = process.env.DATABASE_URL;
if (!url) throw new Error('DATABASE_URL is missing: it must be a URL such as mysql://user:password@host:3306/cashback');

// The service keeps TypeORM silent, for the sake of customers' data; what the commands of migrations print has none.
export default new DataSource({ ...dataSourceOptions(SCHEMA, url, 2), logger: 'advanced-console' });
