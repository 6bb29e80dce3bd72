import { connect, type Socket } from 'node:net';
import type { Answer } from './client.js';
import { parseAnswer } from './raw.js';

const PAUSE_MS = 300;
/** The server has dropped every slow client by then. */
const GIVE_UP_MS = 20_000;

/** Sends the beginning of a request, and then nothing, or the same few bytes again and again. */
export class SlowClient {
  received = '';
  readonly #socket: Socket;
  readonly #closed: Promise<unknown>;

  constructor(url: string, beginning: string, drop?: string) {
    const { hostname, port } = new URL(url);
    this.#socket = connect(Number(port), hostname, () => this.#socket.write(beginning));
    this.#socket.on('data', (chunk: Buffer) => (this.received += chunk.toString()));
    // The server may close while a drop is on its way.
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

  /** What the server said before it closed the connection; nothing where it never did. */
  async answer(): Promise<Answer> {
    await this.#closed;
    return parseAnswer(this.received);
  }

  close(): void {
    this.#socket.destroy();
  }
}
