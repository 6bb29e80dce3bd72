import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { WebhookEndpointsService } from '../events/webhook-endpoints.service.js';
import { FEED_EVENT_TYPES, type FeedEventType } from '../platform/values/domain-event.js';
import { runChange, runWithServices } from './application.js';
import { instant, wholeNumber } from './arguments.js';
import { printRows } from './output.js';

interface Options {
  merchant: string;
  url: string;
  types?: FeedEventType[];
  batch?: number;
  after?: number;
  from?: Date;
}

type Action = (endpoints: WebhookEndpointsService, id: string, options: Options) => Promise<unknown>;

export function webhookCommands(): Command {
  const webhook = new Command('webhook').description("merchants' webhook endpoints");
  const of = (name: string, description: string): Command =>
    webhook.command(name).description(description).requiredOption('--merchant <id>', 'the merchant');
  of('list', 'list the endpoints of a merchant').action(({ merchant }: Options) =>
    runWithServices(async (services) => {
      const endpoints = await endpointsOf(services).list(merchant);
      printRows(endpoints.map(({ last_attempt: _, ...row }) => row));
    }),
  );
  withContent(of('create', 'create an endpoint; its secret is printed once')).action(
    ({ merchant, ...content }: Options) =>
      runChange('webhook create', { merchant_id: merchant }, async (services) => {
        const result = await signing(services).create(merchant, content);
        return { result, changed: { endpoint_id: result.id } };
      }),
  );
  const ofOne = (name: string, description: string): Command =>
    of(name, description).argument('<webhook-endpoint>', 'the endpoint');
  ofOne('show', 'show an endpoint with its last attempt').action((id: string, { merchant }: Options) =>
    runWithServices((services) => endpointsOf(services).get(merchant, id)),
  );
  addChanges(ofOne);
  return webhook;
}

function addChanges(ofOne: (name: string, description: string) => Command): void {
  const add = (name: string, description: string, run: Action, serviceOf = endpointsOf): Command =>
    ofOne(name, description).action((id: string, options: Options) =>
      runChange(`webhook ${name}`, { merchant_id: options.merchant, endpoint_id: id }, async (services) => ({
        result: await run(serviceOf(services), id, options),
        changed: { endpoint_id: id },
      })),
    );
  const update: Action = (all, id, { merchant, ...content }) => all.replace(merchant, id, content);
  withContent(add('update', 'replace the URL, the types and the batch', update));
  add('delete', 'delete an endpoint', (all, id, { merchant }) => all.delete(merchant, id));
  const ping: Action = (all, id, { merchant }) => all.ping(merchant, id);
  add('ping', 'send a test event, and print the outcome', ping, signing);
  add('enable', 'deliver again, from where it stopped', (all, id, { merchant }) => all.enable(merchant, id));
  const rotate: Action = (all, id, { merchant }) => all.rotateSecret(merchant, id);
  add('rotate-secret', 'add a secret, printed once; earlier ones sign for 24 hours too', rotate, signing);
  const seek: Action = (all, id, { merchant, after, from }) => {
    if (after === undefined && from === undefined) throw new Error("one of '--after' and '--from' is required");
    return all.seek(merchant, id, { after, from: from?.toISOString() });
  };
  const sequence = new Option('--after <sequence>', 'the sequence').argParser(wholeNumber(0, Number.MAX_SAFE_INTEGER));
  add('seek', 'deliver the events after a sequence, or from an instant on', seek)
    .addOption(sequence.conflicts('from'))
    .option('--from <instant>', 'such as 2026-11-26T00:00:00-03:00', instant);
}

const withContent = (command: Command): Command =>
  command
    .requiredOption('--url <url>', 'where to send events')
    .addOption(new Option('--types <types...>', 'the types to send; default: all').choices(FEED_EVENT_TYPES))
    .option('--batch <events>', 'the events of a request, at most; default: 1', wholeNumber(1, 100));

const endpointsOf = (services: INestApplicationContext): WebhookEndpointsService =>
  services.get(WebhookEndpointsService);

function signing(services: INestApplicationContext): WebhookEndpointsService {
  if (!process.env.JWT_SECRET) throw new Error('JWT_SECRET must be that of the service');
  return endpointsOf(services);
}
