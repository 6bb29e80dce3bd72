import 'reflect-metadata';
import { runAdmin } from './operations/program.js';

// What reads the output may have seen enough, as `head` does. A change goes on to its end.
process.stdout.on('error', () => undefined);
await runAdmin(process.argv.slice(2));
