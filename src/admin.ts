import 'reflect-metadata';
import { runAdmin } from './operations/program.js';

await runAdmin(process.argv.slice(2));
