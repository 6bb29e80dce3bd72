// @ts-check
import { connect } from 'node:net';

/** A request without a response after this time counts as failed. */
const PATIENCE_MS = 15_000;
const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/**
 * One connection of a load generator. It sends bytes and reads only the status of each response. The client of Node costs
 * several times as much, so with 3,500 connections it would measure the generator instead of the service.
 */
export class HttpConnection {
  /** @type {import('node:net').Socket | undefined} */
  #socket;
  /** @type {((status: string) => void) | undefined} */
  #onAnswer;
  /** The received bytes that have not been parsed. @type {Buffer} */
  #head = Buffer.alloc(0);
  /** Bytes of the body still to read; undefined while reading the head; infinite for a chunked body. @type {number | undefined} */
  #left;
  #status = '';

  /**
   * @param {string} url of the service
   * @param {string} [from] the client's own address
   */
  constructor(url, from) {
    this.target = new URL(url);
    this.from = from;
  }

  /**
   * Sends a request, on a new connection if the old one was closed.
   *
   * @param {string | Buffer} bytes the whole request
   * @returns {Promise<string>} the status of the response or the code of the error
   */
  send(bytes) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end('timeout'), PATIENCE_MS);
      this.#onAnswer = (status) => {
        clearTimeout(timer);
        resolve(status);
      };
      this.#socket ??= this.#open();
      this.#socket.write(bytes);
    });
  }

  close() {
    this.#end('closed');
  }

  #open() {
    const { port, hostname: host } = this.target;
    const socket = connect({ port: Number(port), host, ...(this.from && { localAddress: this.from }) });
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (/** @type {NodeJS.ErrnoException} */ error) => this.#end(error.code ?? 'error', socket));
    socket.on('close', () => this.#end('closed', socket));
    return socket;
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    if (this.#left === undefined) {
      this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
      const end = this.#head.indexOf(HEAD_END);
      if (end < 0) return;
      const head = this.#head.toString('latin1', 0, end);
      this.#status = head.slice(9, 12);
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      this.#left = length === undefined ? Infinity : Number(length);
      chunk = this.#head.subarray(end + HEAD_END.length);
    }
    this.#left -= chunk.length;
    if (this.#left <= 0 || (this.#left === Infinity && chunk.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK))) {
      this.#answer(this.#status);
    }
  }

  /** @param {string} status */
  #answer(status) {
    this.#head = Buffer.alloc(0);
    this.#left = undefined;
    const onAnswer = this.#onAnswer;
    this.#onAnswer = undefined;
    onAnswer?.(status);
  }

  /**
   * @param {string} reason
   * @param {import('node:net').Socket} [socket] the socket that closed, which is ignored unless it is the current one
   */
  #end(reason, socket = this.#socket) {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    socket?.destroy();
    this.#answer(reason);
  }
}
