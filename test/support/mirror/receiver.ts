import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { EventMessage } from './messages.js';
import type { Mirror } from './mirror.js';

/** The shop's webhook endpoint: verifies the signature, stores the event, then answers 204. */
export class WebhookReceiver {
  private webhook?: Webhook;
  private readonly server: Server;

  constructor(private readonly mirror: Mirror) {
    this.server = createServer((request, response) => void this.receive(request, response));
  }

  /** Listens on a free loopback port; returns the port. */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return (this.server.address() as AddressInfo).port;
  }

  /** The `secret` of the endpoint. Until it is known, everything is refused, and sent again. */
  useSecret(secret: string): void {
    this.webhook = new Webhook(secret);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let event: EventMessage;
    try {
      const body = Buffer.concat(await request.toArray());
      event = this.webhook!.verify(body, request.headers as Record<string, string>) as EventMessage;
    } catch {
      response.writeHead(400).end();
      return;
    }
    if (event.type !== 'ping') {
      this.mirror.store(event);
    }
    response.writeHead(204).end();
  }
}
