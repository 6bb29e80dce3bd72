import { connect, type Socket } from 'node:net';
import type { Answer } from './client.js';
import { parseAnswer } from './raw.js';

const PAUSE_MS = 300;
/** The maximum time after which the server has disconnected every slow client. */
const GIVE_UP_MS = 20_000;

/** Sends the beginning of a request, then nothing or the same few bytes repeatedly. */
export class SlowClient {
  received = '';
  readonly #socket: Socket;
  readonly #closed: Promise<unknown>;

  constructor(url: string, beginning: string, drop?: string) {
    const { hostname, port } = new URL(url);
    this.#socket = connect(Number(port), hostname, () => this.#socket.write(beginning));
    this.#socket.on('data', (chunk: Buffer) => (this.received += chunk.toString()));
    // The server may close the connection while bytes are in transit.
    this.#socket.on('error', () => undefined);
    this.#closed = new Promise((resolve) => this.#socket.once('close', resolve));
    const dripping =
      drop === undefined ? undefined : setInterval(() => this.#socket.writable && this.#socket.write(drop), PAUSE_MS);
    const tooLate = setTimeout(() => {
      this.received = '';
      this.#socket.destroy();
    }, GIVE_UP_MS);
    void this.#closed.then(() => {
      clearInterval(dripping);
      clearTimeout(tooLate);
    });
  }

  /** Everything that the server sent before it closed the connection. */
  async answer(): Promise<Answer> {
    await this.#closed;
    return parseAnswer(this.received);
  }

  close(): void {
    this.#socket.destroy();
  }
}
