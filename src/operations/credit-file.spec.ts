import { describe, expect, it } from '@jest/globals';
import { recordsOf } from './credit-file.js';

/** Reads a file that arrives in chunks of some bytes. @returns the number of each record, with its fields or error. */
async function read(file: string | Buffer, chunk = 65_536): Promise<unknown[]> {
  const bytes = Buffer.from(file as string);
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += chunk) {
      await Promise.resolve();
      yield bytes.subarray(at, at + chunk);
    }
  }
  const found: unknown[] = [];
  for await (const { number, fields, error } of recordsOf(chunks())) found.push([number, error ?? fields]);
  return found;
}

const broken = (from: number, to: number): unknown[] => [
  from,
  `lines ${from} to ${to} are one record: a text has a line break`,
];
const STRAY = 'a text has a quote and is not in quotes';
const FOLLOWS = /text follows a closed quote; a quote in a text is ""/;

describe('the records of a CSV file', () => {
  it.each([
    [
      'LF',
      'a,b\nc,d\n',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'CRLF',
      'a,b\r\nc,d\r\n',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'CR CR LF',
      'a,b\r\r\nc,d\r\r\n',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'CRLF after LF, and no line end at the end',
      'a,b\nc,d\r\ne,f',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
        [3, ['e', 'f']],
      ],
    ],
    ['CR only', 'a,b\rc,d\r', [[1, 'a text has a line break']]],
    [
      'a CR in a text',
      'a,b\nc\rd,e\nf,g',
      [
        [1, ['a', 'b']],
        [2, 'a text has a line break'],
        [3, ['f', 'g']],
      ],
    ],
    [
      'a CR in quotes',
      'a,b\n"c\rd",e\nf,g',
      [
        [1, ['a', 'b']],
        [2, 'a text has a line break'],
        [3, ['f', 'g']],
      ],
    ],
    [
      'U+2028',
      'a,b\n"c\u2028d",e\nf,g',
      [
        [1, ['a', 'b']],
        [2, 'a text has a line break'],
        [3, ['f', 'g']],
      ],
    ],
    [
      'U+2029 without quotes',
      'a\nb\u2029c',
      [
        [1, ['a']],
        [2, 'a text has a line break'],
      ],
    ],
    [
      'a byte order mark',
      '\ufeffa,b\nc,d',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'a byte order mark before a quote',
      '\ufeff"a",b\nc,d',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'empty lines',
      'a,b\n\n\r\nc,d',
      [
        [1, ['a', 'b']],
        [2, []],
        [3, []],
        [4, ['c', 'd']],
      ],
    ],
    [
      'a line of separators',
      'a;b\n;;;\nc;d',
      [
        [1, ['a', 'b']],
        [2, ['', '', '', '']],
        [3, ['c', 'd']],
      ],
    ],
    [
      'sep=',
      'sep=;\na;b\nc;d',
      [
        [2, ['a', 'b']],
        [3, ['c', 'd']],
      ],
    ],
    [
      'a doubled quote',
      'a,b\n"c ""d""",e',
      [
        [1, ['a', 'b']],
        [2, ['c "d"', 'e']],
      ],
    ],
    [
      'a separator in quotes',
      'a,b\n"c,d",e',
      [
        [1, ['a', 'b']],
        [2, ['c,d', 'e']],
      ],
    ],
    [
      'a quote in the last column without a line end',
      'a,b\nc,"d"',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'blanks around quotes',
      'a,b\n "c" ,\t"d"\t',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    ['a line break in quotes', 'a,b\n"c\nd",e\nf,g', [[1, ['a', 'b']], broken(2, 3), [4, ['f', 'g']]]],
    ['CRLF in quotes', 'a,b\r\n"c\r\nd\r\n",e\r\nf,g', [[1, ['a', 'b']], broken(2, 4), [5, ['f', 'g']]]],
    [
      'a line break after a blank and a quote',
      'a,b\nx, "c\nd",e\nf,g',
      [[1, ['a', 'b']], broken(2, 3), [4, ['f', 'g']]],
    ],
    ['a line break beside doubled quotes', 'a\n"""\n"""\nb', [[1, ['a']], broken(2, 3), [4, ['b']]]],
    ['an empty line in quotes', 'a\n"\n\n"\nb', [[1, ['a']], broken(2, 4), [5, ['b']]]],
    ['two records with line breaks', 'a\n"\n"\n"\n"\nb', [[1, ['a']], broken(2, 3), broken(4, 5), [6, ['b']]]],
    ['a line that opens quotes again', 'a,b\n"c\nd","e\nf"\ng,h', [[1, ['a', 'b']], broken(2, 4), [5, ['g', 'h']]]],
    [
      'a quote within a text',
      'a,b\n5" x,c\nd,e',
      [
        [1, ['a', 'b']],
        [2, STRAY],
        [3, ['d', 'e']],
      ],
    ],
    ['a quote within a text before quotes', 'a,b\n5" x,"c\nd"\ne,f', [[1, ['a', 'b']], broken(2, 3), [4, ['e', 'f']]]],
    [
      'a NUL',
      'a,b\nc\0,"\0"',
      [
        [1, ['a', 'b']],
        [2, ['c\0', '\0']],
      ],
    ],
    ['a line break in the first line', '"a\nb",c\nd,e', [broken(1, 2), [3, ['d', 'e']]]],
  ])('%s: the records are what RFC 4180 says, however the file arrives', async (_, file, records) => {
    for (const chunk of [1, 2, 3, 65_536]) expect(await read(file, chunk)).toEqual(records);
  });

  it.each([
    ['text after a closed quote', 'a,b\n"c"d,e\nf,g', 2],
    ['text after a closed quote and a blank', 'a,b\n"c" d,e\nf,g', 2],
    ['quotes that are not doubled', 'a,b\nc,d\n"he said "no"",e', 3],
    ['text after a quote that closes on another line', 'a,b\n"c\nd"x,e', 3],
    ['a NUL after a closed quote', 'a,b\n"c"\0,e', 2],
  ])('a file with %s is refused with the line', async (_, file, line) => {
    for (const chunk of [1, 65_536]) {
      await expect(read(file, chunk)).rejects.toThrow(FOLLOWS);
      await expect(read(file, chunk)).rejects.toThrow(`line ${line}: `);
    }
  });

  it.each([
    ['at the end of the file', 'a,b\nc,"d\ne,f\n'],
    ['in the last field', 'a,b\nc,"'],
    ['for more than 64 KiB', `a,b\nc,"d\n${'x\n'.repeat(40_000)}",e\nf,g`],
    ['for a long line', `a,b\nc,"d\n${'x'.repeat(70_000)}\n",e\nf,g`],
    ['in a long line', `a,b\nc,"${'x'.repeat(70_000)}\n",e\nf,g`],
    ['far away in a long line', `a,b\n${'x'.repeat(200_000)},"\nc,d\n",e`],
  ])('a file with a quote that is open %s is refused with the line of the quote', async (_, file) => {
    await expect(read(file)).rejects.toThrow('line 2: a quote is not closed within 65536 bytes');
  });

  it.each([
    ['a text', 'a,b\r\nc,d\ne,f\r\n', 2],
    ['the last text', 'a,b\r\nc,d\r\ne,f\ng', 3],
    ['an empty line', 'a,b\r\n\nc,d\r\n', 2],
    ['a record with a line break in quotes', 'a,b\r\n"c\nd"\ne,f\r\n', 3],
    ['a long line', `a,b\r\n${'x'.repeat(70_000)}\nc,d\r\n`, 2],
  ])('a file with CRLF is refused with the line if LF ends %s', async (_, file, line) => {
    for (const chunk of [1, 65_536])
      await expect(read(file, chunk)).rejects.toThrow(`line ${line}: ends with LF and not CRLF`);
  });

  it('LF in quotes is a line break in a file with CRLF, too', async () => {
    expect(await read('a,b\r\n"c\nd",e\r\nf,g')).toEqual([[1, ['a', 'b']], broken(2, 3), [4, ['f', 'g']]]);
  });

  it('a record of several lines has up to 64 KiB', async () => {
    expect(await read(`a\n"${'x\n'.repeat(30_000)}"\nb`)).toEqual([[1, ['a']], broken(2, 30_002), [30_003, ['b']]]);
  });

  it('a long line without quotes is one error', async () => {
    const file = `a\n${'x'.repeat(70_000)}\nb`;
    expect(await read(file)).toEqual([
      [1, ['a']],
      [2, 'is longer than 65536 bytes'],
      [3, ['b']],
    ]);
  });

  it('quotes in a line of another encoding count', async () => {
    const file = Buffer.concat([Buffer.from('a,b\né,"c"\n'), Buffer.from('\xe9,"d\ne,f"\ng,h', 'latin1')]);
    expect(await read(file)).toEqual([[1, ['a', 'b']], [2, ['é', 'c']], broken(3, 4), [5, ['g', 'h']]]);
  });

  it.each([0x81, 0x8d, 0x8f, 0x90, 0x9d])(
    'the byte %d, which Windows-1252 does not define, is an error',
    async (byte) => {
      const file = Buffer.concat([Buffer.from('a\nx'), Buffer.from([byte]), Buffer.from('\n\xe9\x80\n', 'latin1')]);
      expect(await read(file)).toEqual([
        [1, ['a']],
        [2, 'has a byte that Windows-1252 does not define'],
        [3, ['é€']],
      ]);
    },
  );
});
