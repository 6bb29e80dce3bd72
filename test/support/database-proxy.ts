import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

const COM_QUERY = 3;

/** The response to one statement that the server has executed and the client has not received. */
export interface WithheldAnswer {
  sql: string;
  /** Forwards the response to the client. */
  release(): void;
}

/**
 * A proxy between a client and the database server that can withhold the response to one statement. At that moment the
 * server has executed the statement and the client does not know it.
 */
export class DatabaseProxy {
  readonly #sockets = new Set<Socket>();
  #slow: { matches: (sql: string) => boolean; ms: number } | undefined;
  #withhold: { matches: (sql: string) => boolean; onWithheld: (answer: WithheldAnswer) => void } | undefined;

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    server.on('connection', (client: Socket) => this.#serve(client));
  }

  static async start(databaseUrl: string): Promise<DatabaseProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new DatabaseProxy(server, new URL(databaseUrl));
  }

  /** The URL of the database through the proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.host = `127.0.0.1:${(this.server.address() as { port: number }).port}`;
    return url.href;
  }

  /** Withholds the response to the first statement that matches. Resolves when the server has sent that response. */
  withhold(matches: (sql: string) => boolean): Promise<WithheldAnswer> {
    return new Promise((resolve) => (this.#withhold = { matches, onWithheld: resolve }));
  }

  /** Delays the responses to statements that match, as long ones would be. */
  slow(matches: (sql: string) => boolean, ms: number): void {
    this.#slow = { matches, ms };
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  #serve(client: Socket): void {
    const upstream = connect(Number(this.target.port || 3306), this.target.hostname);
    let onAnswer: ((answer: Buffer) => void) | undefined;
    client.on('data', (data: Buffer) => {
      // A command is the first packet of its sequence, and mysql2 sends one only after the last one was answered.
      // In MySQL, two bytes about attributes precede the text.
      const text = data.toString('utf8', data[5] === 0 ? 7 : 5);
      const sql = data[3] === 0 && data[4] === COM_QUERY ? text : '';
      const withhold = this.#withhold;
      if (withhold && sql !== '' && withhold.matches(sql)) {
        this.#withhold = undefined;
        onAnswer = (answer) => withhold.onWithheld({ sql, release: () => client.write(answer) });
      }
      const { matches = () => false, ms } = this.#slow ?? {};
      if (sql !== '' && matches(sql)) onAnswer = (answer) => void setTimeout(() => client.write(answer), ms);
      upstream.write(data);
    });
    upstream.on('data', (data: Buffer) => {
      if (onAnswer) onAnswer(data);
      else client.write(data);
      onAnswer = undefined;
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}
