import 'reflect-metadata';
import { runAdmin } from './operations/program.js';

process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // What reads the output may have seen enough, as `head` does. A change goes on to its end.
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return;
  console.error(`error: the output is not complete: ${message}`);
  process.exitCode = 1;
});
await runAdmin(process.argv.slice(2));
