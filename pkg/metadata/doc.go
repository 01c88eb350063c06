// Package metadata reads typed values from a trigger's metadata, which KEDA hands
// on as a flat map of strings.
//
// A Key describes one entry: its names, its kind, its default and what is legal.
// The same Key is what parsing obeys, what an error quotes and what documentation
// is made of. A Map reads keys and collects every problem on the way, so that one
// look tells a user all that is wrong:
//
//	m := metadata.New(trigger.Metadata)
//	list := m.Text(listName)
//	length := m.Number(listLength)
//	m.Finish(keys)
//	return m.Err(), m.Warnings()
package metadata
