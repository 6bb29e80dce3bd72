// @ts-check
//
// A receiver of webhooks that answers at once: a POST is counted and answered with 204. GET tells the count.
import { createServer } from 'node:http';

let count = 0;

const server = createServer((request, response) => {
  if (request.method !== 'POST') {
    response.end(JSON.stringify({ count }));
    return;
  }
  request.resume();
  request.once('end', () => {
    count += 1;
    response.writeHead(204).end();
  });
});
// The service keeps its connections.
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env['PORT']), '127.0.0.1');
process.once('SIGTERM', () => process.exit(0));
