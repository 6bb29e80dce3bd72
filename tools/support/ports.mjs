// @ts-check
import { createServer } from 'node:net';

/**
 * Whether a server could listen on this port now.
 *
 * @param {number} port
 * @param {string} [host] an address of this machine; without one, all of them, as the service listens
 */
export function isPortFree(port, host) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/**
 * A free port on loopback, below those the operating system hands to outgoing connections. In that range a client
 * that keeps trying to reach a stopped server can end up connected to itself, and the server could not come back
 * to its port.
 */
export async function findFreePort() {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isPortFree(port, '127.0.0.1')) return port;
  }
  throw new Error('No free port was found between 20000 and 32000 on 127.0.0.1.');
}
