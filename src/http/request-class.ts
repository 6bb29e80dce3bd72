import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Each chunk takes much more time than its bytes. Clients that buffer nothing send one per JSON token. */
export const MAX_CHUNKS = 2000;

/** A client whose buffer has 4 KiB, which is small, sends fewer. */
const MANY_CHUNKS = 100;

const EMPTY = Buffer.alloc(0);

const inManyChunks = new WeakSet<IncomingMessage>();
const cutShort = new WeakSet<IncomingMessage>();

/**
 * Whether the chunks of a body took so much time that the client has to connect again after the response. Node accepts
 * one connection at a time, after a request of every other one: clients that send such bodies must not keep theirs.
 */
export const hasManyChunks = (request: IncomingMessage): boolean => inManyChunks.has(request);

/** Whether the body of a request has too many chunks. The rest of it is not read. */
export const hasTooManyChunks = (request: IncomingMessage): boolean => cutShort.has(request);

function noteChunks(request: IncomingMessage, count: number): void {
  // Without this field, a chunk is what the network delivers at once.
  if (count === MANY_CHUNKS && 'transfer-encoding' in request.headers) inManyChunks.add(request);
  if (count > MAX_CHUNKS) cutShort.add(request);
}

/**
 * Returns the class of a server's requests. Node receives up to 64 KiB at once, and would keep an object for each of
 * the thousands of requests, or chunks of a body, that fit in them.
 *
 * @param isOneTooMany whether a request must not wait on its connection. Its headers are known, its body is not.
 */
export function requestClass(isOneTooMany: (request: IncomingMessage) => boolean): typeof IncomingMessage {
  return class extends IncomingMessage {
    #isOneTooMany: boolean | undefined;
    /** The chunks that Node has just received, joined. */
    #joined: Buffer = EMPTY;
    #bytes = 0;
    #count = 0;

    constructor(socket: Socket) {
      super(socket);
      const pushJoined = (): void => {
        // Copied, because a part of a buffer would keep all of it.
        if (this.#bytes < this.#joined.length) this.#joined = Buffer.alloc(this.#bytes, this.#joined);
        if (this.#bytes > 0) super.push(this.#joined);
        this.#bytes = 0;
        this.#joined = EMPTY;
      };
      // Not a method, because Express replaces the prototype of a request.
      this.push = (chunk: Buffer | null): boolean => {
        if (chunk === null) {
          pushJoined();
          return super.push(null);
        }
        if (cutShort.has(this)) return false;
        if (this.#bytes === 0) setImmediate(pushJoined);
        noteChunks(this, ++this.#count);
        return this.#join(chunk);
      };
    }

    /** @returns whether Node may receive more. */
    #join(chunk: Buffer): boolean {
      const bytes = this.#bytes + chunk.length;
      let joined = this.#bytes === 0 ? chunk : this.#joined;
      if (bytes > joined.length) joined = Buffer.concat([joined.subarray(0, this.#bytes)], 2 * bytes);
      if (joined !== chunk) chunk.copy(joined, this.#bytes);
      this.#joined = joined;
      this.#bytes = bytes;
      return this.readableLength + bytes < this.readableHighWaterMark;
    }

    /**
     * Node parses nothing after a request to switch the protocol. A request that is one too many passes for one, so the
     * server disconnects the client. Others are served as if they did not ask for it.
     */
    get upgrade(): boolean {
      return (this.#isOneTooMany ??= this.method === 'CONNECT' || isOneTooMany(this));
    }

    set upgrade(_isRequested: boolean) {}
  };
}
