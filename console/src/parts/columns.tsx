/** The head of a table. @param titles in their order, by column */
export function Columns({ titles }: { readonly titles: Readonly<Record<string, string>> }) {
  return (
    <thead>
      <tr>
        {Object.entries(titles).map(([column, title]) => (
          <th scope="col" key={column}>
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}
