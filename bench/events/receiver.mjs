// @ts-check
//
// A receiver of webhooks: the events of a POST are counted, and it is answered with 204, at once or after `?delay=`
// milliseconds. GET tells the count.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

let count = 0;

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') {
    response.end(JSON.stringify({ count }));
    return;
  }
  const { data } = /** @type {{ data: unknown }} */ (await json(request));
  const delay = Number(new URL(String(request.url), 'http://localhost').searchParams.get('delay'));
  if (delay > 0) await sleep(delay);
  count += Array.isArray(data) ? data.length : 1;
  response.writeHead(204).end();
});
// The service keeps its connections.
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env['PORT']), '127.0.0.1');
process.once('SIGTERM', () => process.exit(0));
