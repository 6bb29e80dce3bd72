import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { documentNumber } from './arguments.js';

/** Options for private values. An argument is visible in `ps` and in the shell's history; stdin is not. */

const VISIBLE = "visible to other users of this machine and kept in the shell's history";

export interface DocumentOptions {
  document?: string;
  documentStdin?: true;
}

export interface PasswordOptions {
  password?: string;
  passwordStdin?: true;
}

/** Adds `--document` and `--document-stdin`; one of them is required. */
export function withDocument(command: Command): Command {
  return command
    .option('--document <document>', `the customer's CPF or CNPJ, without punctuation; ${VISIBLE}`, documentNumber)
    .addOption(new Option('--document-stdin', "read the customer's CPF or CNPJ from stdin").conflicts('document'));
}

/** Returns the document that was given. @throws Error if none was, or if it is invalid. */
export async function documentOf({ document, documentStdin }: DocumentOptions): Promise<string> {
  if (document !== undefined) return document;
  if (documentStdin === undefined) throw new Error("one of '--document' and '--document-stdin' is required");
  try {
    return documentNumber(await lineFromStdin());
  } catch (error) {
    // Commander reports only errors of arguments.
    throw new Error(`option '--document-stdin' is invalid. ${(error as Error).message}`, { cause: error });
  }
}

/** Adds `--password` and `--password-stdin`, both optional. */
export function withPassword(command: Command): Command {
  return command
    .option('--password <password>', `12 to 72 bytes; ${VISIBLE}`)
    .addOption(new Option('--password-stdin', 'read the password from stdin').conflicts('password'));
}

export async function passwordOf({ password, passwordStdin }: PasswordOptions): Promise<string | undefined> {
  return passwordStdin === undefined ? password : lineFromStdin();
}

/** Returns all of stdin without the final line break. */
async function lineFromStdin(): Promise<string> {
  return (await text(process.stdin)).replace(/\r?\n$/, '');
}
