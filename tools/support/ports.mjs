// @ts-check
import { connect, createServer } from 'node:net';

/**
 * Whether a server could listen on this port now.
 *
 * @param {number} port
 * @param {string} [host] an address of this machine; the default is all addresses, like the service
 */
export function isPortFree(port, host) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/**
 * Whether a server listens on this port of 127.0.0.1. It does not take the port, so a server that starts meanwhile can.
 *
 * @param {number} port
 */
export function isListening(port) {
  return new Promise((resolve) => {
    const probe = connect(port, '127.0.0.1', () => resolve(true));
    probe.once('error', () => resolve(false)).once('connect', () => probe.destroy());
  });
}

/**
 * Returns a free port on loopback, below those that the operating system gives to outgoing connections. Otherwise a
 * client that retries a stopped server could be connected to itself, and the server could not restart on its port.
 */
export async function findFreePort() {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isPortFree(port, '127.0.0.1')) return port;
  }
  throw new Error('No free port was found between 20000 and 32000 on 127.0.0.1.');
}
