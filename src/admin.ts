import 'reflect-metadata';
import { runAdmin } from './operations/program.js';

// What reads the output may have seen enough, as `head` does.
process.stdout.on('error', () => process.exit());
await runAdmin(process.argv.slice(2));
