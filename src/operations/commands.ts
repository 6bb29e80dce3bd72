import { type Command, Option } from 'commander';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PERMISSIONS } from '../platform/values/caller.js';
import { type Fault } from '../platform/values/problem.js';
import { type OperatorRequest } from './operator-client.js';

/** Commands, their options and their help, derived from the OpenAPI document. */

/** What is read of a schema. */
export interface Schema {
  $ref?: string;
  allOf?: Schema[];
  type?: string | string[];
  format?: string;
  enum?: string[];
  const?: string;
  description?: string;
  example?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
}

interface Described {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters: Parameter[];
  requestBody?: { content: { 'application/json': { schema: Schema; example?: object } } };
  responses: Record<string, { content?: Record<string, unknown> }>;
  security: object[];
  'x-operator'?: true;
}

interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
}

/** A value that an operation takes: an argument of the command if it is in the path, otherwise an option. */
export interface Member {
  in: Parameter['in'] | 'body';
  /** Its name, after those of the objects that it is in. */
  at: readonly string[];
  schema: Schema;
  isRequired: boolean;
}

/** An operation that is a command. */
export interface Operation {
  id: string;
  method: string;
  path: string;
  /** The group and the command, such as `grants create`. */
  name: [group: string, command: string];
  summary: string;
  description: string;
  members: Member[];
  /** An example of the body. */
  example: object;
  needsMerchant: boolean;
  /** Whether it can answer CSV. */
  isFile: boolean;
  /** Whether only the command line has it. */
  isOperators: boolean;
  /** Whether the audit log records it. */
  isChange: boolean;
  isIrreversible: boolean;
}

/** Whether a command without a merchant is about all of them: lists and reports. */
export const isOfAll = ({ method, path }: Operation): boolean =>
  method === 'GET' && !path.includes('{') && path !== '/policy';

/** What the document does not say of a command. */
interface Named {
  /** Where the words of the operation, without that of its group, say less. */
  name?: [group: string, command: string];
  /** Whether it only reads, although its method does not say so. */
  reads?: true;
  isIrreversible?: true;
}

/** By operation. Without a command is what is about the caller's own tokens, or has a command that does more. */
const COMMANDS: Record<string, Named | 'none'> = {
  ...{ login: 'none', refreshTokens: 'none', logout: 'none', changePassword: 'none', getMe: 'none' },
  ...{ changeUser: 'none', getOrderByExternalId: 'none', createGrants: 'none' },
  editUser: { name: ['users', 'change'] },
  getUserWork: { name: ['users', 'work'] },
  voidUserGrants: { isIrreversible: true },
  createQuote: { reads: true },
  searchOrders: { reads: true },
  listRefunds: { name: ['orders', 'refunds'] },
  getOrderTimeline: { name: ['orders', 'timeline'] },
  holdRedemption: { name: ['orders', 'hold'] },
  quoteRefund: { reads: true },
  listAllRefunds: { name: ['refunds', 'list'] },
  listPolicyVersions: { name: ['policy', 'history'] },
  deleteCampaign: { isIrreversible: true },
  searchWallet: { name: ['wallets', 'find'], reads: true },
  listWalletCredits: { name: ['wallets', 'credits'] },
  listWalletEntries: { name: ['wallets', 'entries'] },
  getWalletExpiring: { name: ['wallets', 'expiring'] },
  listCustomers: { name: ['customers', 'list'] },
  eraseCustomer: { isIrreversible: true },
  listCredits: { name: ['credits', 'list'] },
  listEntries: { name: ['entries', 'list'] },
  replaceWebhookEndpoint: { name: ['webhooks', 'change'] },
  deleteWebhookEndpoint: { isIrreversible: true },
};

const commandOf = (operationId: string): Named | undefined => {
  const command = COMMANDS[operationId];
  return command === 'none' ? undefined : (command ?? {});
};

/** What the service builds of `src`, and what runs from `src`, as tests do, have it in the same place. */
const FILE = path.join(import.meta.dirname.replace(/(dist.)?src.operations$/, ''), 'dist/openapi-operator.json');

/** Reads the operations from the document that `npm run build` writes. */
export function readOperations(): Operation[] {
  const document = JSON.parse(readFileSync(FILE, 'utf8')) as Document;
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { operationId }]) => commandOf(operationId) !== undefined)
      .map(([method, described]) => operationOf(document, path, method, described)),
  );
}

function operationOf(document: Document, path: string, method: string, described: Described): Operation {
  const { operationId: id, parameters, requestBody, responses } = described;
  const body = requestBody?.content['application/json'];
  return {
    ...{ id, method: method.toUpperCase(), path, name: nameOf(described), summary: described.summary },
    description: (described.description ?? '').replace(/ ?Needs the permission .*$/s, '').replace(/\s+/g, ' '),
    members: [
      ...parameters.map(({ name, in: place, required, description, schema }): Member => {
        const resolved = resolve(document, { ...schema, ...(description !== undefined && { description }) });
        return { in: place, at: [name], schema: resolved, isRequired: required };
      }),
      ...(body === undefined ? [] : membersOf(document, resolve(document, body.schema))),
    ],
    example: body?.example ?? {},
    needsMerchant: described.security.length > 0,
    isFile: Object.values(responses).some(({ content }) => content !== undefined && 'text/csv' in content),
    isOperators: described['x-operator'] === true,
    isChange: method !== 'get' && commandOf(id)?.reads !== true,
    isIrreversible: commandOf(id)?.isIrreversible === true,
  };
}

/** `rotateWebhookSecret` of the group `webhooks` is `webhooks rotate-secret`. */
function nameOf({ operationId, tags: [group = ''] }: Described): [string, string] {
  const own = [group.replace(/s$/, ''), 'endpoint', 'report'];
  const words = operationId.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(' ');
  const command = words.filter((word) => !own.includes(word.replace(/s$/, '')));
  return commandOf(operationId)?.name ?? [group, command.join('-')];
}

/** Follows references. What stands beside one belongs to the member. */
function resolve(document: Document, { $ref, allOf = [], ...own }: Schema): Schema {
  const referred = [...($ref === undefined ? [] : [{ $ref }]), ...allOf].map((one) =>
    one.$ref === undefined ? one : resolve(document, document.components.schemas[one.$ref.split('/').at(-1)!]!),
  );
  return Object.assign({}, ...referred, own) as Schema;
}

/** The members of an object, and those of objects in it. */
function membersOf(document: Document, { properties = {}, required = [] }: Schema, within: string[] = []): Member[] {
  return Object.entries(properties).flatMap(([name, declared]) => {
    const [schema, at] = [resolve(document, declared), [...within, name]];
    if (schema.properties !== undefined) return membersOf(document, schema, at);
    const items = schema.items && resolve(document, schema.items);
    const isRequired = within.length === 0 && required.includes(name);
    return { in: 'body' as const, at, schema: { ...schema, ...(items && { items }) }, isRequired };
  });
}

/** The option of a member, or its argument if it is in the path. */
export const flagOf = ({ at, in: place }: Pick<Member, 'at' | 'in'>): string => {
  const name = at.join('.').toLowerCase().replaceAll('_', '-');
  return place === 'path' ? name : `--${name}`;
};

const typeOf = ({ type }: Schema): string | undefined => [type].flat().find((one) => one !== 'null');
const isNullable = ({ type }: Schema): boolean => [type].flat().includes('null');
const choicesOf = ({ enum: choices, const: only, items }: Schema): string[] | undefined =>
  choices ?? (only === undefined ? items?.enum : [only]);

/** What stands for the value of an option in the help. */
function placeholderOf({ in: place, schema }: Member): string {
  if (place === 'header') return 'version';
  const type = typeOf(schema);
  if (type === 'boolean') return 'true|false';
  if (type === 'array') return schema.items?.properties === undefined ? 'list' : 'json';
  if (type === 'object') return 'json';
  if (type === 'integer') return 'n';
  return { date: 'day', 'date-time': 'instant', uuid: 'id', email: 'email' }[schema.format ?? ''] ?? 'value';
}

/** What a program repeats so that it erases nobody by mistake: the document. A command has `--yes`. */
const CONFIRM = 'confirm';

/** What has no option: what pages and files of a list need, too. */
const WITHOUT_OPTION = ['cursor', 'csv', CONFIRM];

/** What others of the machine must not see. An argument is in `ps` and in the shell's history; stdin is not. */
const PRIVATE = 'document';

/** What people call something that has an ID, by the part of the path before it. */
export const NAMES_OF: Record<string, 'external_id' | 'email' | 'name'> = {
  ...{ orders: 'external_id', refunds: 'external_id', grants: 'external_id', debits: 'external_id' },
  ...{ users: 'email', campaigns: 'name' },
};

/** The arguments of a command: what they are, their parameter, and the part of the path before it. */
export const argumentsOf = (path: string): { word: string; parameter: string; segment: string }[] =>
  Array.from(path.matchAll(/([\w-]+)\/\{(\w+)\}/g), ([, segment = '', parameter = '']) => {
    return { word: segment.replace(/s$/, ''), parameter, segment };
  });

/** Adds the arguments and the options of an operation to its command. */
export function addMembers(command: Command, { path, members }: Operation): void {
  for (const { word, segment } of argumentsOf(path)) {
    const name = NAMES_OF[segment];
    command.argument(`<${word}>`, `the ${word}: its ID${name === undefined ? '' : ` or ${name}`}`);
  }
  const options = members.filter((member) => member.in !== 'path' && !WITHOUT_OPTION.includes(member.at[0]!));
  for (const member of options.sort((a, b) => Number(b.isRequired) - Number(a.isRequired))) {
    command.option(`${flagOf(member)} <${placeholderOf(member)}>`, optionHelp(member));
    if (member.at.at(-1) === PRIVATE)
      command.addOption(new Option(`${flagOf(member)}-stdin`, 'read it from stdin, where nobody sees it'));
  }
}

function optionHelp({ schema, isRequired, in: place, at }: Member): string {
  if (place === 'header') return 'refuse if it has another version by now';
  const says = (schema.description ?? '').replace(/\s+/g, ' ').replace(/\.$/, '');
  const choices = choicesOf(schema);
  return [
    ...(isRequired ? ['(required)'] : []),
    at.length > 1 || says !== '' ? says : at.join(' '),
    ...(choices === undefined ? [] : [`(${choices.join(', ')})`]),
  ].join(' ');
}

/** Returns the command of an example: with what is required or, if nothing is, with the first option. */
export function exampleOf({ name, path, members, example, needsMerchant, isIrreversible }: Operation): string {
  const values = example as Record<string, unknown>;
  const options = members.filter(({ in: place, at }) => /query|body/.test(place) && at[0] !== CONFIRM);
  const required = options.filter(({ isRequired }) => isRequired);
  const ofBody = options.filter((member) => member.in === 'body').slice(0, 1);
  const shown = (required.length > 0 ? required : ofBody).map((member): string => {
    if (member.at[0] === PRIVATE) return `${flagOf(member)}-stdin`;
    const value = values[member.at[0]!] ?? member.schema.example ?? `<${placeholderOf(member)}>`;
    const isWords = Array.isArray(value) && value.every((one) => typeof one === 'string');
    const text = isWords ? value.join(',') : typeof value === 'string' ? value : JSON.stringify(value);
    return `${flagOf(member)} ${/^[\w.,:/@+<>-]+$/.test(text) ? text : `'${text}'`}`;
  });
  const found = argumentsOf(path).map(({ word }) => `<${word}>`);
  const merchant = needsMerchant && found.length === 0 ? ['--merchant <id>'] : [];
  const input = required.some(({ at }) => at[0] === PRIVATE) ? ['< document.txt'] : [];
  return [...name, ...merchant, ...found, ...shown, ...(isIrreversible ? ['--yes'] : []), ...input].join(' ');
}

/** Returns what an error says of a member, by its option. Undefined for a member without one. */
export function faultOf({ members }: Operation, { pointer, parameter, detail }: Fault): string | undefined {
  const names = parameter === undefined ? (pointer ?? '').slice(1).split('/') : [parameter];
  const member = members.find(
    ({ at, in: place }) => place !== 'path' && at.every((name, index) => name === names[index]),
  );
  if (member === undefined) return names[0] === CONFIRM ? undefined : `${names.join('.')} ${detail}`.trim();
  if (WITHOUT_OPTION.includes(member.at[0]!)) return undefined;
  return [flagOf(member), ...names.slice(member.at.length), detail].join(' ');
}

/** Reads a value as the body has it. What it must be, the operation says. */
function valueOf(schema: Schema, text: string, flag: string): unknown {
  if (text === 'null' && isNullable(schema)) return null;
  const type = typeOf(schema);
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  if (type === 'integer' || type === 'number') return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  const isList = type === 'array' && schema.items?.properties === undefined;
  if (isList)
    return text === 'all' && schema.items?.enum?.length === PERMISSIONS.length ? PERMISSIONS : text.split(',');
  if (type !== 'object' && type !== 'array') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`${flag} must be JSON, such as ${JSON.stringify(schema.example ?? {})}`, { cause: error });
  }
}

/**
 * Returns the request that a command asks for.
 *
 * @param args of the command, in their order.
 * @param textOf returns the text of an option.
 */
export function requestOf(
  { members }: Operation,
  args: readonly string[],
  textOf: (flag: string) => string | undefined,
): OperatorRequest {
  const request = { params: {}, query: {}, headers: {}, body: {} } satisfies OperatorRequest;
  const left = [...args];
  for (const { in: place, at, schema } of members) {
    const flag = flagOf({ in: place, at });
    const text = place === 'path' ? left.shift() : textOf(flag);
    if (text === undefined) continue;
    if (place === 'path') set(request.params, at, text);
    else if (place === 'query') set(request.query, at, text);
    else if (place === 'header') set(request.headers, [at[0]!.toLowerCase()], /^[*"W]/.test(text) ? text : `"${text}"`);
    else set(request.body, at, valueOf(schema, text, flag));
  }
  const isConfirmed = members.some(({ at }) => at[0] === CONFIRM);
  return isConfirmed ? { ...request, body: { ...request.body, [CONFIRM]: textOf(`--${PRIVATE}`) } } : request;
}

function set(object: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) object[name] = value;
  else set((object[name] ??= {}) as Record<string, unknown>, rest, value);
}
