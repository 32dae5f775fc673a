import type { TSchema } from 'typebox';

/**
 * What the OpenAPI document shows of a schema beside what validation checks. Validators never see any of it, so that it
 * changes no response.
 */

type Json = Readonly<Record<string, unknown>>;

const names = new WeakMap<object, string>();
const shown = new WeakMap<object, object>();

/** Marks the copy of a component in a parameter: the framework would drop the reference's description and examples. */
export const componentMark = 'x-component';

/** Names a schema: the document has it once, in `components.schemas`, and refers to it everywhere else. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  names.set(schema, name);
  return schema;
}

/**
 * Shows another schema in the document than validation uses. It is narrower, because the domain checks what the schema does
 * not: a name in the path that does not exist is 404, and not an invalid request.
 */
export function documentedAs<Schema extends TSchema>(schema: Schema, documented: object): Schema {
  shown.set(schema, documented);
  return schema;
}

/** Exactly one of these schemas. */
export function oneOf(...schemas: readonly TSchema[]): TSchema {
  return { oneOf: schemas } as TSchema;
}

/** Describes schemas for one document, and collects those with a name. */
export class SchemaDescriber {
  readonly #components = new Map<string, { readonly source: object; readonly described: Json }>();

  /** `components.schemas`, ordered by name. */
  components(): Readonly<Record<string, Json>> {
    const entries = [...this.#components].map(([name, { described }]) => [name, described] as const);
    return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** A copy of a JSON Schema, in which schemas with a name are references. */
  describe(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.describe(each));
    if (typeof schema !== 'object' || schema === null) return schema;
    const documented = shown.get(schema);
    if (documented !== undefined) {
      const { description } = schema as Json;
      const described = this.describe(documented) as Json;
      return description === undefined || '$ref' in described ? described : { description, ...described };
    }
    const name = names.get(schema);
    if (name === undefined) return this.#copy(schema as Json);
    this.#add(name, schema);
    return { $ref: reference(name) };
  }

  /** Each property as a parameter. A parameter shows the keywords of a schema with a name: pages then offer its values. */
  describeParameters(schema: unknown): unknown {
    const described = this.describe(schema) as { properties?: Readonly<Record<string, Json>> } | undefined;
    if (described?.properties === undefined) return described;
    const properties = Object.entries(described.properties).map(([name, property]) => {
      const component = this.#components.get(String(property.$ref).slice(reference('').length));
      return [
        name,
        component === undefined ? property : { ...component.described, [componentMark]: property.$ref },
      ];
    });
    return { ...described, properties: Object.fromEntries(properties) };
  }

  #add(name: string, source: object): void {
    const known = this.#components.get(name);
    if (known?.source === source) return;
    const described = this.#copy(source as Json);
    if (known !== undefined && JSON.stringify(known.described) !== JSON.stringify(described))
      throw new Error(`two schemas have the name ${name}`);
    this.#components.set(name, { source, described });
  }

  #copy(schema: Json): Json {
    const literals = literalsOf(schema.anyOf);
    if (literals !== undefined) {
      const { anyOf: _, ...rest } = schema;
      return { type: 'string', enum: literals, ...rest };
    }
    const entries = Object.entries(schema).map(([keyword, value]) =>
      keyword === 'patternProperties'
        ? ['additionalProperties', this.describe(Object.values(value as object)[0])]
        : [keyword, this.describe(value)],
    );
    return Object.fromEntries(entries);
  }
}

function reference(name: string): string {
  return `#/components/schemas/${name}`;
}

/** The values, if all alternatives are literal strings. */
function literalsOf(anyOf: unknown): readonly string[] | undefined {
  if (!Array.isArray(anyOf)) return undefined;
  const values = anyOf.map(({ const: value }: Json) => value);
  return values.every((value) => typeof value === 'string') ? values : undefined;
}
