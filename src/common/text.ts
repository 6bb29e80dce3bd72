/** Returns the text with the letters A to Z in lower case. All other characters keep their case. */
export function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
