import Foundation

@testable import BackstitchCore

/// A captured value whose parts predicates read.
struct Captured: Codable, Sendable {
    var age: Int
    var name: String
}

/// Predicates of every form that is supported, with random constants.
extension SeededGenerator {
    mutating func predicate() -> Predicate<Sample> {
        switch Int.random(in: 0..<5, using: &self) {
        case 0: textPredicate()
        case 1: numberPredicate()
        case 2: optionalPredicate()
        case 3: otherPredicate()
        default: mixedPredicate()
        }
    }

    private mutating func textPredicate() -> Predicate<Sample> {
        let text = text()
        let other = self.text()
        let texts = (0..<Int.random(in: 0...5, using: &self)).map { _ in self.text() }
        let normal = normalText()
        let second = normalText()
        let (low, high) = (min(normal, second), max(normal, second))
        switch Int.random(in: 0..<16, using: &self) {
        case 0: return #Predicate<Sample> { $0.name == text }
        case 1: return #Predicate<Sample> { $0.name != text }
        case 2: return #Predicate<Sample> { $0.name < normal }
        case 3: return #Predicate<Sample> { $0.name <= normal }
        case 4: return #Predicate<Sample> { $0.name > normal }
        case 5: return #Predicate<Sample> { normal <= $0.name }
        case 6: return #Predicate<Sample> { $0.name.contains(text) }
        case 7: return #Predicate<Sample> { $0.name.starts(with: text) }
        case 8: return #Predicate<Sample> { texts.contains($0.name) }
        case 9: return #Predicate<Sample> { low <= $0.name && $0.name < high }
        case 10: return #Predicate<Sample> { $0.name == text || $0.name == other }
        case 11: return #Predicate<Sample> { (low...high).contains($0.name) }
        case 12: return #Predicate<Sample> { $0.name.count > 3 || $0.name.isEmpty }
        case 13: return #Predicate<Sample> { !$0.name.starts(with: text) }
        case 14: return #Predicate<Sample> { !$0.name.isEmpty }
        default: return #Predicate<Sample> { text.contains($0.name) }
        }
    }

    private mutating func numberPredicate() -> Predicate<Sample> {
        let number = integer()
        let low = Int.random(in: -4...3, using: &self)
        let high = low + Int.random(in: 0...6, using: &self)
        let numbers = (0..<Int.random(in: 0...5, using: &self)).map { _ in self.integer() }
        let double = chance(0.05) ? Double.nan : double()
        let doubles = [self.double(), self.double(), .nan]
        let decimal = decimal()
        let small = Int16(Int.random(in: -3...9, using: &self))
        let size = Int32(Int.random(in: -3...9, using: &self))
        let range = low..<high
        let divisor: Int32 = chance(0.5) ? 2 : -3
        switch Int.random(in: 0..<20, using: &self) {
        case 0: return #Predicate<Sample> { $0.age == number }
        case 1: return #Predicate<Sample> { $0.age != number }
        case 2: return #Predicate<Sample> { number < $0.age }
        case 3: return #Predicate<Sample> { $0.age >= low && $0.age < high }
        case 4: return #Predicate<Sample> { (low...high).contains($0.age) }
        case 5: return #Predicate<Sample> { range.contains($0.age) }
        case 6: return #Predicate<Sample> { numbers.contains($0.age) }
        case 7: return #Predicate<Sample> { $0.score <= double }
        case 8: return #Predicate<Sample> { $0.score == double }
        case 9: return #Predicate<Sample> { !($0.score > double) }
        case 10: return #Predicate<Sample> { doubles.contains($0.score) }
        case 11: return #Predicate<Sample> { $0.price == decimal }
        case 12: return #Predicate<Sample> { $0.price < decimal }
        case 13: return #Predicate<Sample> { $0.price >= decimal }
        case 14: return #Predicate<Sample> { $0.level == number || $0.level == 7 }
        case 15: return #Predicate<Sample> { $0.level < high }
        case 16: return #Predicate<Sample> { $0.size + 2 > size }
        case 17: return #Predicate<Sample> { $0.size % divisor == 1 }
        case 18: return #Predicate<Sample> { $0.grade == small }
        default: return #Predicate<Sample> { $0.level * low > high }
        }
    }

    private mutating func optionalPredicate() -> Predicate<Sample> {
        let text = text()
        let nick: String? = optional { $0.text() }
        let nicks: [String?] = [nick, self.text(), self.text()]
        let small = Int16(Int.random(in: -3...9, using: &self))
        let decimal = decimal()
        let float = float()
        let truth = chance(0.5)
        let date = anyDate()
        switch Int.random(in: 0..<20, using: &self) {
        case 0: return #Predicate<Sample> { $0.nick == nil }
        case 1: return #Predicate<Sample> { $0.nick != nil }
        case 2: return #Predicate<Sample> { $0.nick == nick }
        case 3: return #Predicate<Sample> { $0.nick != nick }
        case 4: return #Predicate<Sample> { $0.nick?.contains(text) == true }
        case 5: return #Predicate<Sample> { $0.nick?.starts(with: text) == false }
        case 6: return #Predicate<Sample> { ($0.nick ?? text) == text }
        case 7: return #Predicate<Sample> { ($0.grade ?? 3) > small }
        case 8: return #Predicate<Sample> { $0.grade.flatMap { $0 > small } == true }
        case 9:
            // swift-format-ignore: NeverForceUnwrap
            return #Predicate<Sample> { $0.grade != nil && $0.grade! <= small }
        case 10:
            // swift-format-ignore: NeverForceUnwrap
            return #Predicate<Sample> { $0.grade == nil || $0.grade! > small }
        case 11:
            return #Predicate<Sample> { if let grade = $0.grade { grade < small } else { truth } }
        case 12: return #Predicate<Sample> { $0.flag == truth }
        case 13: return #Predicate<Sample> { ($0.flag ?? truth) && $0.isOn }
        case 14: return #Predicate<Sample> { ($0.bonus ?? decimal) < decimal }
        case 15: return #Predicate<Sample> { $0.ratio.flatMap { $0 * 2 > float } ?? truth }
        case 16: return #Predicate<Sample> { nicks.contains($0.nick) }
        case 17:
            // swift-format-ignore: NeverForceUnwrap
            return #Predicate<Sample> { $0.seen != nil ? $0.seen! > date : truth }
        case 18: return #Predicate<Sample> { $0.seen == date }
        default: return #Predicate<Sample> { $0.nick?.count == 1 }
        }
    }

    private mutating func otherPredicate() -> Predicate<Sample> {
        let date = anyDate()
        let dates = [anyDate(), self.date(), anyDate()]
        let (first, last) = (min(date, dates[0]), max(date, dates[0]))
        let id = id()
        let boss: EntityID<Sample>? = optional { $0.id() }
        let ids = (0..<4).map { _ in self.id() }
        let bosses: [EntityID<Sample>?] = ids + [boss]
        let data = data()
        let uuid = uuid()
        let uuids = [uuid, self.uuid()]
        let url = url()
        switch Int.random(in: 0..<18, using: &self) {
        case 0: return #Predicate<Sample> { $0.born == date }
        case 1: return #Predicate<Sample> { $0.born < date }
        case 2: return #Predicate<Sample> { $0.born >= date }
        case 3: return #Predicate<Sample> { (first...last).contains($0.born) }
        case 4: return #Predicate<Sample> { dates.contains($0.born) }
        case 5: return #Predicate<Sample> { $0.id == id }
        case 6: return #Predicate<Sample> { ids.contains($0.id) }
        case 7: return #Predicate<Sample> { $0.boss == id }
        case 8: return #Predicate<Sample> { $0.boss == boss }
        case 9: return #Predicate<Sample> { bosses.contains($0.boss) }
        case 10: return #Predicate<Sample> { $0.boss == nil || $0.boss == boss }
        case 11: return #Predicate<Sample> { $0.blob == data }
        case 12: return #Predicate<Sample> { $0.token == uuid }
        case 13: return #Predicate<Sample> { uuids.contains($0.token) }
        case 14: return #Predicate<Sample> { $0.link == url }
        case 15: return #Predicate<Sample> { $0.id != id && $0.boss != nil }
        case 16: return #Predicate<Sample> { $0.token < uuid }
        default: return #Predicate<Sample> { $0.boss != boss }
        }
    }

    private mutating func mixedPredicate() -> Predicate<Sample> {
        let text = text()
        let number = integer()
        let numbers = [integer(), integer(), integer()]
        let id = id()
        let truth = chance(0.5)
        let captured = Captured(age: integer(), name: self.text())
        switch Int.random(in: 0..<14, using: &self) {
        case 0: return #Predicate<Sample> { $0.isOn }
        case 1: return #Predicate<Sample> { !$0.isOn }
        case 2: return #Predicate<Sample> { $0.isOn == truth && $0.age > number }
        case 3: return #Predicate<Sample> { $0.name == text || $0.age == number }
        case 4: return #Predicate<Sample> { !($0.name == text || $0.age < number) }
        case 5: return #Predicate<Sample> { $0.boss == id && ($0.isOn || $0.age > number) }
        case 6: return #Predicate<Sample> { $0.isOn ? $0.age > number : $0.name == text }
        case 7: return #Predicate<Sample> { $0.age == $0.level || $0.name == text }
        case 8: return #Predicate<Sample> { $0.age > captured.age }
        case 9: return #Predicate<Sample> { $0.name == captured.name && truth }
        case 10: return #Predicate<Sample> { $0.isOn != ($0.age > number) }
        case 11:
            return #Predicate<Sample> { model in numbers.contains { $0 > model.age } }
        case 12:
            return #Predicate<Sample> { model in numbers.allSatisfy { $0 != model.level } }
        default:
            return #Predicate<Sample> { ($0.nick ?? text) == $0.name }
        }
    }
}
