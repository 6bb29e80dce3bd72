import 'reflect-metadata';
import { runAdmin } from './admin/program.js';

await runAdmin(process.argv.slice(2));
