import { readFileSync } from 'node:fs';

/** As much of an OpenAPI document as the tests read. */
export interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly example?: string;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
  readonly responses: Readonly<
    Record<string, { readonly headers?: object; readonly content?: Readonly<Record<string, unknown>> }>
  >;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly enum?: readonly string[] }>>;
    readonly headers: object;
  };
}

/** An operation with its place in the document. */
export interface Placed extends Operation {
  readonly method: string;
  readonly path: string;
}

export const documentFile = 'openapi.json';

export function readDocument(): OpenApiDocument {
  return JSON.parse(readFileSync(documentFile, 'utf8'));
}

export function operationsOf({ paths }: OpenApiDocument): Placed[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ ...operation, method, path })),
  );
}
