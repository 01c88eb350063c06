package source

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// element is an XML element. Namespaces do not count.
type element struct {
	XMLName    xml.Name   `xml:""`
	Attributes []xml.Attr `xml:",any,attr"`
	Text       string     `xml:",chardata"`
	Elements   []element  `xml:",any"`
}

// findXML follows names of elements from the root's on. Where several have one name, the
// next step says which, from 0; the last step may be @ and the name of an attribute. KEDA
// has this format in its list, but its decoder takes no XML at all.
func findXML(body []byte, location string) (any, error) {
	var root element
	if err := xml.Unmarshal(body, &root); err != nil {
		return nil, errFormat
	}
	steps := strings.Split(location, ".")
	last, attribute := strings.CutPrefix(steps[len(steps)-1], "@")
	if attribute {
		steps = steps[:len(steps)-1]
	}
	e, err := root.at(steps)
	switch {
	case err != nil:
		return nil, err
	case attribute:
		return e.attribute(last)
	case len(e.Elements) > 0:
		return nil, errors.New("valueLocation leads to an element with others inside, not to a number")
	}
	return strings.TrimSpace(e.Text), nil
}

// at is the one element that the steps lead to, of which the first is the root's name.
func (e element) at(steps []string) (element, error) {
	found := []element{{Elements: []element{e}}} // as if it were inside of another
	for _, step := range steps {
		if _, err := strconv.Atoi(step); err == nil { // which is no element's name
			n, ok := index(step, len(found))
			if !ok {
				return element{}, errAbsent
			}
			found = found[n : n+1]
			continue
		}
		if len(found) > 1 {
			break
		}
		if found = named(found[0].Elements, step); len(found) == 0 {
			return element{}, errAbsent
		}
	}
	switch {
	case len(found) > 1:
		return element{}, fmt.Errorf("several elements %q at valueLocation; say which by a number, from 0", found[0].XMLName.Local)
	case found[0].XMLName.Local == "":
		return element{}, errAbsent
	}
	return found[0], nil
}

func (e element) attribute(name string) (any, error) {
	for _, a := range e.Attributes {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value), nil
		}
	}
	return nil, errAbsent
}

func named(elements []element, name string) []element {
	var found []element
	for _, e := range elements {
		if e.XMLName.Local == name {
			found = append(found, e)
		}
	}
	return found
}
